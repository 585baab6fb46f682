// Times Pinocchio's kernels called from C++; its headers only, so that all of it is compiled with the
// flags at hand. Reads a model from standard input as peers.py writes it; prints "name microseconds".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#ifdef DERIVATIVES // gigabytes and minutes more to compile
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#endif

namespace pin = pinocchio;

static Eigen::Vector3d read3() {
  Eigen::Vector3d x;
  std::cin >> x[0] >> x[1] >> x[2];
  return x;
}

static Eigen::Matrix3d read33() {
  Eigen::Matrix3d x;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) std::cin >> x(i, j);
  return x;
}

// Least time of one call, over repeats of a loop through many states.
template <typename Call>
static void time_best(const char* name, std::size_t states, Call call) {
  double least = 1e30;
  for (int repeat = 0; repeat < 60; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < states; ++k) call(k);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / states);
  }
  std::printf("%s %.4f\n", name, least);
}

int main() {
  pin::Model model;
  int joints = 0;
  std::cin >> joints;
  for (int i = 0; i < joints; ++i) {
    int parent;
    std::string kind;
    std::cin >> parent >> kind;
    const Eigen::Vector3d axis = read3();
    const Eigen::Matrix3d R = read33();
    const Eigen::Vector3d p = read3();
    double mass;
    std::cin >> mass;
    const Eigen::Vector3d com = read3();
    const Eigen::Matrix3d inertia = read33();
    const pin::SE3 place(R, p);
    const std::string name = "joint" + std::to_string(i);
    pin::JointIndex id;
    if (kind == "free") id = model.addJoint(parent, pin::JointModelFreeFlyer(), place, name);
    else if (kind == "rx") id = model.addJoint(parent, pin::JointModelRX(), place, name);
    else if (kind == "ry") id = model.addJoint(parent, pin::JointModelRY(), place, name);
    else if (kind == "rz") id = model.addJoint(parent, pin::JointModelRZ(), place, name);
    else if (kind == "revolute") id = model.addJoint(parent, pin::JointModelRevoluteUnaligned(axis), place, name);
    else return 2;
    model.appendBodyToJoint(id, pin::Inertia(mass, com, inertia), pin::SE3::Identity());
  }
  pin::Data data(model);
  const std::size_t count = 256;
  std::vector<Eigen::VectorXd> q, v, a;
  for (std::size_t k = 0; k < count; ++k) {
    v.push_back(Eigen::VectorXd::Random(model.nv));
    a.push_back(Eigen::VectorXd::Random(model.nv));
    q.push_back(pin::integrate(model, pin::neutral(model), v.back()));
  }
  time_best("rnea", count, [&](std::size_t k) { pin::rnea(model, data, q[k], v[k], a[k]); });
  for (const auto convention : {pin::Convention::LOCAL, pin::Convention::WORLD})
    time_best("aba", count, [&](std::size_t k) { pin::aba(model, data, q[k], v[k], a[k], convention); });
  for (const auto convention : {pin::Convention::LOCAL, pin::Convention::WORLD})
    time_best("crba", count, [&](std::size_t k) { pin::crba(model, data, q[k], convention); });
#ifdef DERIVATIVES
  time_best("rnea_derivatives", count,
            [&](std::size_t k) { pin::computeRNEADerivatives(model, data, q[k], v[k], a[k]); });
  time_best("aba_derivatives", count,
            [&](std::size_t k) { pin::computeABADerivatives(model, data, q[k], v[k], a[k]); });
  time_best("inverse_mass_matrix", count, [&](std::size_t k) { pin::computeMinverse(model, data, q[k]); });
#endif
  time_best("kinematics", count, [&](std::size_t k) { pin::forwardKinematics(model, data, q[k]); });
  return 0;
}
