"""A shogi game without an end.  Made by make_shogi_game.py."""

GAME = (
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
