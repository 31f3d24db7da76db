"""Models and trainings on disk: model folders, checkpoints, warm starts, run folders."""
