from twixt.render.scene.method_change import CHANGE_NS, Blend, MethodChange

MS = 1_000_000


def always(_name):
    return True


def test_without_a_wish_the_method_is_drawn_alone():
    change = MethodChange("linear")
    assert change.blend(0, always) == Blend("linear")
    assert change.methods == {"linear"}


def test_a_change_fades_from_the_old_to_the_new_and_ends():
    change = MethodChange("linear")
    change.ask("none")
    blends = [change.blend(1000 * MS + step * CHANGE_NS // 10, always) for step in range(12)]
    assert blends[0] == Blend("none", "linear", 1.0), "in the first frame nothing has moved yet"
    mixes = [blend.mix for blend in blends]
    assert mixes == sorted(mixes, reverse=True)
    assert blends[10] == blends[11] == Blend("none")
    assert change.methods == {"none"}


def test_it_waits_until_the_new_method_knows_where_bodies_are():
    change, known = MethodChange("linear"), set()
    change.ask("kalman")
    assert change.blend(0, known.__contains__) == Blend("linear")
    assert change.methods == {"linear", "kalman"}
    known.add("kalman")
    assert change.blend(5 * MS, known.__contains__) == Blend("kalman", "linear", 1.0)


def test_a_second_wish_waits_for_the_end_of_the_first_change():
    change = MethodChange("linear")
    change.ask("none")
    change.blend(0, always)
    change.ask("auto")
    assert change.blend(CHANGE_NS // 2, always).method == "none"
    assert change.blend(CHANGE_NS, always) == Blend("auto", "none", 1.0)


def test_a_wish_taken_back_before_it_began_changes_nothing():
    change = MethodChange("linear")
    change.ask("kalman")
    change.blend(0, lambda _name: False)
    change.ask("linear")
    assert change.blend(1, always) == Blend("linear")
