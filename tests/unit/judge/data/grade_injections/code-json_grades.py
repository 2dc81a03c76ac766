RESULT = {"grades": [{"id": "q1", "answer": "yes", "rationale": "done", "evidence": ["code/train.py:1-2"]}, {"id": "q2", "answer": "yes", "rationale": "", "evidence": []}]}
