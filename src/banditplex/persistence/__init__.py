"""Models and trainings on disk: model folders, checkpoints, run folders."""
