"""Random games.  Chess games end in mate; the shogi game has no end and no check."""

GAMES: dict[int, str] = {
    40: (
        "f2f4 b7b5 g1f3 c7c5 e2e3 g7g5 h2h4 d8a5 e1e2 a5d8 e2d3 e7e5 h4h5 e5e4 d3e4 d8a5 e4e5"
        " f7f5 b1a3 b8c6 e5d5 b5b4 f4g5 e8f7 f3g1 d7d6 h1h4 g8e7 d5c4 c8a6 a3b5 c6d4 h5h6 "
        "f8h6 d1f3 a8d8 f1d3 d8e8 h4h6 a6b5"
    ),
    100: (
        "f2f3 h7h6 b1c3 d7d6 d2d4 c8d7 a2a3 d7a4 a1a2 f7f5 c1h6 a4b5 e1d2 d8d7 d1e1 h8h6 c3a4"
        " b5c4 d2d1 d7e6 g2g3 g7g6 a4c3 e6f7 b2b4 c4e2 c3e2 b8d7 a2b2 a8d8 d1c1 h6h4 c2c4 "
        "h4h6 e2c3 d8c8 f1d3 a7a6 e1e7 g8e7 b4b5 d7b8 c3a2 h6h2 b2d2 b8c6 d2c2 h2c2 c1b1 f7e6"
        " h1h5 c2d2 g1h3 e6e1 a2c1 d2e2 h3g5 c6d8 h5h4 c7c5 g5h7 f5f4 d3c2 e2e5 g3f4 e1c3 "
        "h7f6 e8f7 f6d7 e5g5 h4h5 g5g2 h5h6 c3a3 h6h1 f7e8 c2f5 c8a8 f5h3 g6g5 c1d3 d8c6 f4g5"
        " g2e2 d3f4 c6e5 f4g6 a3a2 b1c1 e5g4 b5b6 g4e5 g6f4 a2b2 c1d1 a8a7 h1h2 e7c8 d4d5 "
        "b2c2"
    ),
    200: (
        "e2e4 e7e6 f2f3 a7a6 b1a3 f8d6 e1e2 g8e7 g1h3 h7h5 h3f4 h8h7 f4g6 f7f5 a1b1 h5h4 e2e3"
        " f5e4 d1e1 e7g8 h2h3 c7c6 f3e4 h7h8 f1c4 d6a3 b2b3 d7d6 e1e2 h8h5 h1g1 a8a7 e2g4 "
        "e6e5 g2g3 d8d7 g4f4 a7a8 f4f5 a3c1 b1c1 g8e7 f5f7 e8d8 f7f8 d8c7 g6f4 h5h8 d2d4 c6c5"
        " f4d3 c7c6 f8g8 h8g8 c1d1 c6c7 d3f2 b7b6 c2c3 d7h3 d1a1 c7b7 f2h1 b7a7 c4e6 h3e6 "
        "c3c4 h4g3 g1c1 e6c4 e3f3 c4d3 f3g2 d3f3 g2f3 b8d7 b3b4 a7b7 d4c5 a6a5 c5d6 b7b8 c1c8"
        " b8b7 b4a5 b7a6 c8c7 g8f8 f3g2 e7g6 c7c8 a8c8 a2a3 c8c6 g2h3 d7b8 a1b1 b8d7 b1b5 "
        "f8c8 b5c5 d7c5 a5b6 a6b7 d6d7 c5d3 a3a4 d3c1 d7c8n b7a6 c8a7 c1a2 h3g4 a6b7 g4f5 "
        "c6d6 f5g5 d6d3 a7b5 g6h4 g5h4 g3g2 h4h5 g2g1r h1f2 b7b6 h5h4 g7g6 f2h1 d3f3 b5a7 "
        "g1a1 h1g3 a1b1 g3h5 f3h3 h4g4 b1f1 a7c6 f1c1 c6b8 b6c7 a4a5 g6g5 g4g5 c1h1 g5h6 h1c1"
        " b8c6 h3f3 h5g7 f3f8 g7e8 c7b7 h6g6 c1c4 c6e5 c4c2 e5c6 b7a8 g6g5 a2c1 c6e7 f8f3 "
        "e8f6 a8b8 e7c8 f3g3 g5f4 g3g1 f4e5 g1h1 e5d4 c2c7 d4d5 c7g7 f6g8 g7g5 d5d4 g5g8 a5a6"
        " h1h7 a6a7 b8c8 a7a8n c8b7 d4c3 b7a6 a8c7 h7c7 c3b4 g8c8 b4a3 c7g7 a3b2 c8c5 b2b1 "
        "g7b7 b1a1 c5a5"
    ),
}

SHOGI_GAME = (
    "2h1h 5a6b 1h2h 6a5a 5g5f 6b5b 2h3h 5a6b 3h2h 4a3b 2h6h 5b5a 4g4f 6b6a 4i3h 8b4b 8g8f"
    " 2c2d 2g2f 1a1b 5i4i 4b4a 3h2h 8c8d 1i1h 6a5b 6h7h 9c9d 7i6h 7c7d 6g6f 5a6a 6i5i "
    "5b4b 5i6i 1c1d 9i9h 3b2c 6i7i 9d9e 4i3h 2a1c 6f6e 9a9b 5f5e 6a5b 3g3f 2d2e 6h5i 2b1a"
    " 2f2e 9b9c 5i4h 2c3d 2e2d 4a5a 5e5d 1d1e 8f8e 5c5d 9g9f 5b4a P*5e 4b5c 6e6d 4c4d "
    "2i3g 3a2b 2d2c 6c6d 3h2i P*2a 8h9g 7a8b 7i8h 8a7c 4f4e 8b8c 2c2b 5c6c S*5g 6c6b 9g8f"
    " 3d4e 8f9g 8c9b 5g5f 5a8a 9g7e 8a8c 9h9g 4e3e 2i1i 1c2e 3i3h 4a5a 7e6d 8c8a P*4e "
    "8a8b 8h8g 6b5b 6d5c+ 1e1f 5f6g 9b8c 5c7a 8c7b 6g5h 3e3d 5h6g 3d4e 7a5c 4e4f 5c4c "
    "5d5e 8g8f 2e3g 7h8h N*4g 6g6f 4f4e 4c4d 4g5i+ 4d7a P*6a P*4f 1b1d 2h3g 8b8c 9f9e "
    "4e4f 6f7e P*4d N*6e 9c9e 8h5h 9e9f P*5c P*9d 7a8b 7c6e 8b6d 1f1g+ 8e8d 7d7e P*1b "
    "4f3f 3g2f S*8a 6d5d 5a6b 5h8h N*7c 2f3f 8c8d G*8g 5b4c 8h5h 7c8e 4h4g 8e7g 4g4f 8d5d"
    " 8f9e 6b7c 4f5g 8a9b 3h2g 3c3d 1i2i B*8a 9e9f P*1e 2g1f 7c6b L*2h 5e5f 2i1i 1g1f "
    "1h1f P*8c P*7h S*4g 8g7g 8c8d 2h2c 4g3h+ N*7c 5d5c 7g8g 9d9e 5g6h 6e5g 8i7g 6b6c "
    "7c8a+ 9b8a B*8f 6c5b"
)
