"""Compare methods by their errors against a tight reference, in a table and a picture: python 06_compare.py"""

import vitree as vt

model = vt.load_urdf(vt.find_robot("arm6"))
start = [0.0, 0.5, 1.0, 0.5, 1.0, 0.0]  # rad
methods = ["linear-time", "midpoint", "semi-implicit-euler", "rk4"]
result = vt.compare(model, methods, start, duration=1.0, dt=[4e-3, 2e-3, 1e-3])

result.plot("compare.png")
print(result)
print("orders: " + ", ".join(f"{name} {order:.2f}" for name, order in result.orders.items()))
