"""Whom a run spoke to, in bounded memory."""

from __future__ import annotations

from firetrial_runner.egress.contacts import MOST, Contact, Contacts, Visit


def test_visits_to_a_hosts_port_are_one_contact() -> None:
    contacts = Contacts()
    contacts.add(Visit("a.example", 443, sent=10, received=5))
    contacts.add(Visit("a.example", 443, sent=1))
    contacts.add(Visit("a.example", 80, sent=1))
    contacts.add(Visit("a.example", 443, refused="too much"))
    assert contacts.all() == (
        Contact("a.example", 16, 2, port=443),
        Contact("a.example", 1, 1, port=80),
        Contact("a.example", 0, 1, refused=True, port=443),
    )


def test_hosts_without_number_are_counted_together_and_denied_ones_still_have_a_name() -> None:
    contacts = Contacts()
    for number in range(10 * MOST):
        contacts.add(Visit(f"{number}.example", 443, sent=1))
    for port in range(2 * MOST):
        contacts.add(Visit("paper.example", port, refused="denied", denied=True))
    contacts.add(Visit("", 0, refused="no name"))
    found = contacts.all()
    assert found[MOST] == Contact("", 9 * MOST, 9 * MOST)
    assert found[MOST + 1] == Contact("paper.example", 0, 1, refused=True, denied=True)
    assert found[2 * MOST + 1 :] == (
        Contact("", 0, MOST, refused=True, denied=True),
        Contact("", 0, 1, refused=True),
    )


def test_a_visit_is_told_without_what_did_not_happen() -> None:
    assert Visit("a.example", 443, sent=3).told() == {"host": "a.example", "port": 443, "sent": 3}
    assert (
        Visit("a.example", 443, sent=3, received=4).text == "contact: a.example:443: 3 bytes sent, 4 received"
    )
    assert Visit("", 0, refused="no name").text == "contact refused: no host:0: no name"
