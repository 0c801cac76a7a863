"""Count the words of files given on the command line."""
import collections
import sys


def words(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            yield from line.lower().split()


def main():
    counts = collections.Counter()
    for path in sys.argv[1:]:
        counts.update(words(path))
    for word, n in counts.most_common(20):
        print(f"{n:6d}  {word}")


if __name__ == "__main__":
    main()
