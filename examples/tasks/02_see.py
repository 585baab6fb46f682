"""See a robot: a page with its shapes and its joints, which a browser opens without a network: python 02_see.py"""

import vitree as vt

model = vt.load_urdf(vt.find_robot("human"), base="free")
vt.view(model, html="human.html")  # vt.view(model) alone opens a live page, with a slider for each joint

print("written: human.html")
