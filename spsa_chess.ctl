# A tune by SPSA: the engine plays against itself.
#
#   ringmaster spsa_chess.ctl check      tests the engines
#   ringmaster spsa_chess.ctl plan       estimates the length and the gain
#   ringmaster spsa_chess.ctl run -j 2   plays, two games at a time
#   ringmaster spsa_chess.ctl show       shows the results, also during a run
#
# Stop the run at any time (Ctrl-X: after the games in progress, Ctrl-C: at once), change this
# file, and run it again: it continues.

competition_type = "spsa"

# Game of the competition.
game = "chess"

# The engines, by player code.
players = {
    "glaurung": Player(
        "glaurung",
        options={"Threads": 1, "Hash": 16, "OwnBook": False},
        time_control="10+0.1",
    ),
}

# Code of the player to tune.
player = "glaurung"

# The parameters to tune.  Their perturbations and step sizes are determined automatically.
# The integer options of Glaurung 2.2; delete the parameters that you do not want to tune.
# Fewer parameters need fewer games.
# Narrower than the engine's own range: Full Depth Moves (PV nodes) (1 to 100); Full Depth Moves
# (non-PV nodes) (1 to 100); Threat Depth (0 to 100); Futility Margin 0 (0 to 1000); Futility
# Margin 1 (0 to 1000); Futility Margin 2 (0 to 1000).
# Left out (the name has the word "value", which ends the name in `setoption`): King Safety Max
# Value.
# Left out (not about the quality of play): Randomness, Maximum Number of Threads per Split
# Point, Threads, Hash, MultiPV.
# King Safety Coefficient, Full Depth Moves (PV nodes): the largest value is 20 times the
# smallest or more; if equal factors count alike, as for times, rates and many weights,
# scale="log" finds the optimum sooner.  Steep losses near the smaller bound mislead a tune on a
# linear scale.
parameters = [
    Parameter("Mobility (Middle Game)", start=100, min=0, max=200, integer=True),
    Parameter("Mobility (Endgame)", start=100, min=0, max=200, integer=True),
    Parameter("Pawn Structure (Middle Game)", start=100, min=0, max=200, integer=True),
    Parameter("Pawn Structure (Endgame)", start=100, min=0, max=200, integer=True),
    Parameter("Passed Pawns (Middle Game)", start=100, min=0, max=200, integer=True),
    Parameter("Passed Pawns (Endgame)", start=100, min=0, max=200, integer=True),
    Parameter("Space", start=100, min=0, max=200, integer=True),
    Parameter("Aggressiveness", start=100, min=0, max=200, integer=True),
    Parameter("Cowardice", start=100, min=0, max=200, integer=True),
    Parameter("King Safety Coefficient", start=40, min=1, max=100, integer=True),
    Parameter("King Safety X Intercept", start=0, min=0, max=20, integer=True),
    Parameter("King Safety Max Slope", start=30, min=10, max=100, integer=True),
    Parameter("Queen Contact Check Bonus", start=3, min=0, max=8, integer=True),
    Parameter("Queen Check Bonus", start=2, min=0, max=4, integer=True),
    Parameter("Rook Check Bonus", start=1, min=0, max=4, integer=True),
    Parameter("Bishop Check Bonus", start=1, min=0, max=4, integer=True),
    Parameter("Knight Check Bonus", start=1, min=0, max=4, integer=True),
    Parameter("Discovered Check Bonus", start=3, min=0, max=8, integer=True),
    Parameter("Mate Threat Bonus", start=3, min=0, max=8, integer=True),
    Parameter("Check Extension (PV nodes)", start=2, min=0, max=2, integer=True),
    Parameter("Check Extension (non-PV nodes)", start=1, min=0, max=2, integer=True),
    Parameter("Single Reply Extension (PV nodes)", start=2, min=0, max=2, integer=True),
    Parameter("Single Reply Extension (non-PV nodes)", start=2, min=0, max=2, integer=True),
    Parameter("Mate Threat Extension (PV nodes)", start=0, min=0, max=2, integer=True),
    Parameter("Mate Threat Extension (non-PV nodes)", start=0, min=0, max=2, integer=True),
    Parameter("Pawn Push to 7th Extension (PV nodes)", start=1, min=0, max=2, integer=True),
    Parameter("Pawn Push to 7th Extension (non-PV nodes)", start=1, min=0, max=2, integer=True),
    Parameter("Passed Pawn Extension (PV nodes)", start=1, min=0, max=2, integer=True),
    Parameter("Passed Pawn Extension (non-PV nodes)", start=0, min=0, max=2, integer=True),
    Parameter("Pawn Endgame Extension (PV nodes)", start=2, min=0, max=2, integer=True),
    Parameter("Pawn Endgame Extension (non-PV nodes)", start=2, min=0, max=2, integer=True),
    Parameter("Full Depth Moves (PV nodes)", start=14, min=1, max=28, integer=True),
    Parameter("Full Depth Moves (non-PV nodes)", start=3, min=1, max=8, integer=True),
    Parameter("Threat Depth", start=5, min=0, max=10, integer=True),
    Parameter("Selective Plies", start=7, min=0, max=10, integer=True),
    Parameter("Futility Margin 0", start=50, min=0, max=100, integer=True),
    Parameter("Futility Margin 1", start=100, min=0, max=200, integer=True),
    Parameter("Futility Margin 2", start=200, min=0, max=400, integer=True),
    Parameter("Maximum Razoring Depth", start=3, min=0, max=4, integer=True),
    Parameter("Razoring Margin", start=300, min=150, max=600, integer=True),
    Parameter("Minimum Split Depth", start=4, min=4, max=7, integer=True),
]

# Games of the tune; method "constant" can derive the number.
number_of_games = 10000

# The closing match.
verify = Verify(games=1000)

# Result of a crash, a hang or a protocol error during play: a void game, which is replayed, or
# a loss.
failures = "loss"

# Further settings with their default values, or with an example.  Remove the # to change a
# setting.  The reference in docs/ describes all, with the other arguments of Player(…).

# Start positions.  Without openings every game begins from the start position, and
# deterministic engines repeat the same game.
#openings = Openings("openings.epd", order="random")

# Text for the report.
#description = "The purpose of this competition."

# Rules of chess: 'standard', 'chess960', or another variant by its UCI_Variant name
# ('crazyhouse', 'xiangqi', …).
#variant = "standard"

# Declare a draw after a series of level scores of both engines.
#draw_adjudication = DrawAdjudication(move_number=40, move_count=8, score=10)

# Declare a game lost after a series of losing scores of one engine.
#resign_adjudication = ResignAdjudication(move_count=3, score=600, two_sided=False)

# End a game of chess or Chess960 as soon as Syzygy tablebases give its result.
#tablebases = Tablebases("path/to/syzygy")

# Seconds by which a clock may be overstepped.
#margin = 0.05

# Plies after which the referee ends a game.
#move_limit = 1000

# Result of a game at the move limit; by default a draw in chess and shogi, and unknown in Go.
#move_limit_result = "draw"

# Write a record of each game.
#record_games = True

# Write game records to a file for each game, to one file of all games, or both.
#record_files = "both"

# Number of games played at the same time; -j overrides it.
#parallel = 1

# Play on the hosts of a Dask cluster; --cluster overrides the address.
#cluster = None

# Do not check the players before a run.
#skip_player_checks = False

# Copy the engines' standard error to the log when a game ends.  False: pass it to standard
# error at once, even in a quiet run.
#stderr_to_log = True

# Seed of every random decision.
#seed = 0

# Clock of all players.  A player with this limit or one of the next three keeps only its own
# limits; None in Player(…) or Matchup(…) switches off one of the four.
#time_control = None

# Limit of nodes for each move (not over GTP).
#nodes = None

# Limit of depth for each move (not over GTP).
#depth = None

# Seconds for each move; sent over GTP as a period of one stone.
#move_time = None

# UCI or USI options of all players, by name; a player's own value of an option wins.
#options = None

# Seconds for a move without another limit, and for any other answer.  A player's ready_timeout
# limits its start and its preparation of a game.
#hang_timeout = 60.0

# Further data of each move in game records, beside score, depth and time.
#record_info = ["seldepth", "nodes", "nps"]

# Write the time of each move in the comments of game records.
#record_times = True

# Games with the same perturbation; an even number.
#games_per_iteration = 2

# Whether the two sides of an iteration play each other, or both play the opponent.
#pairing = "self_play"

# With pairing "reference": code of the opponent; or several codes, as a list or as a dictionary
# of code to weight.
#opponent = None

# The method, which chooses the perturbations and learns from results.
#method = "adaptive"

# Exponent of the step gain; by default 0.602, with "weather_factory" 0.601.
#alpha = None

# Exponent of the perturbation; by default 0.101, with "weather_factory" 0.102.
#gamma = None

# Stability constant, in units of k; by default A_ratio times the tune's length, with
# "weather_factory" 100000.
#A = None

# Of "classic", instead of A: the stability constant as a fraction of the tune; by default 0.1.
#A_ratio = None

# Unit of k in the gain sequences; by default iterations, with "weather_factory" games.
#k_counts = None

# Whether a result moves θ by the difference that was played, or by the difference before
# clipping and rounding; by default realised.  Not for "adaptive".
#update = None

# Rounding of integer parameters: with the same random number for both sides, or each side to
# the nearest integer.
#rounding = "stochastic"

# The estimate: chosen by the method or a drift test, the last θ, or the mean of θ over the last
# half.
#estimate = "auto"

# Of "blog": ε; a win moves θ by ε/2 of the perturbation; by default 0.0002.
#epsilon = None

# Of "blog": the decrease of s and ε.
#annealing = None

# Of "constant": Elo lost at half a range from the optimum; by default 2.
#elo_per_parameter = None

# Of "constant": largest Elo loss at the end of 95 % of all tunes; by default 0.5.
#precision = None

# Of "constant": the share of drawn games; by default 0.61.
#draw_ratio = None

# Of "weather_factory": factor of the step gain; by default 1.
#a = None

# Of "weather_factory": factor of the perturbation; by default 1.
#c = None
