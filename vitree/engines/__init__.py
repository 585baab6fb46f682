"""Other engines, MuJoCo and Pinocchio: the same mechanism and start, stepped by them."""
