from hypothesis import settings

settings.register_profile("patient", deadline=None)  # files are slow on a busy machine
settings.load_profile("patient")
