from firetrial_parser.labels import without_labels


def test_labels_go_from_findings() -> None:
    assert without_labels(
        [
            "It falls by 3 points (Table 1).",
            "As shown in Figure 5, changing it costs 20%.",
            "Figure 2a shows that costs rise.",
            "In Figure 4, we show that size helps.",
            "Table 2 lists what remains.",
        ]
    ) == [
        "It falls by 3 points.",
        "Changing it costs 20%.",
        "Costs rise.",
        "Size helps.",
        "Table 2 lists what remains.",
    ]
