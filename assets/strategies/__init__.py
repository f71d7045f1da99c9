"""Standardizes a folder that no spec describes: drafts of a spec, their records, and five strategies to get the best out of them.

The strategies are those of the paper of MDS-Bench (arXiv 2607.04694): S0 direct, S1 self-check, S2 checklist repair, S3 the best
complete candidate by a validator, S4 choice field by field. None of them sees a ground truth.
"""
