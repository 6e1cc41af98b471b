"""LM section 3.3 on CIFAR-10: what each criterion of pruning costs, without a teacher."""
