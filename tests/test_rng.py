import numpy as np

from banditplex.rng import stream


def test_streams_depend_on_seed_and_name_alone():
    first = stream(1, "a", 2).integers(1 << 62, size=4)
    stream(1, "b").random(100)
    np.testing.assert_array_equal(stream(1, "a", 2).integers(1 << 62, size=4), first)
    assert not np.array_equal(stream(2, "a", 2).integers(1 << 62, size=4), first)
    assert not np.array_equal(stream(1, "a", "2").integers(1 << 62, size=4), first)


def test_a_stream_is_seeded_with_the_digest_of_its_name():
    """The words are the first 16 bytes of `printf "('x',)" | sha256sum`, little end first: the same everywhere."""
    words = [0x60683A13, 0xFAF9764D, 0xCA960D5B, 0xE084C997]
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence([7, *words])))
    np.testing.assert_array_equal(stream(7, "x").random(5), expected.random(5))
