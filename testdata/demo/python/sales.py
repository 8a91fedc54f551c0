import io
import ringd

text = ringd.inputs["sales"]
try:
    import pandas as pd
    sold = pd.read_csv(io.StringIO(text)).groupby("shop").amount.sum().to_dict()
except ModuleNotFoundError:  # a host without pandas
    import collections, csv
    sold = collections.Counter()
    for row in csv.DictReader(io.StringIO(text)):
        sold[row["shop"]] += float(row["amount"])
for shop in sorted(sold, key=sold.get, reverse=True):
    print(f"{shop:8} {sold[shop]:8.2f}")

try:
    import requests
except ImportError as e:
    print("refused:", e)

try:
    open("/etc/passwd")
except OSError as e:
    print("refused:", e)

try:
    ringd.tools.publish({shop: round(total, 2) for shop, total in sold.items()})
    print("published")
except ringd.Error as e:
    print(f"not published: {e.name}: {e}")

max(sold, key=sold.get)
