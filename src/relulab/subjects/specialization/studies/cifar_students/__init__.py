"""SS figure 10 and LM figure 9: students of a pruned teacher on CIFAR-10."""
