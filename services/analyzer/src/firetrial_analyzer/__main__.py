from firetrial_analyzer.main import main

main()
