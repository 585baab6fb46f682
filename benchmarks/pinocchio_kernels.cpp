// Times Pinocchio's kernels called from C++: one line "name microseconds" each.
// Usage: pinocchio_kernels robot.urdf free|fixed
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>

namespace pin = pinocchio;

// Least time of one call, over repeats of a loop through many states.
template <typename Call>
double best(std::size_t states, Call call) {
  double least = 1e30;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < states; ++k) call(k);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / states);
  }
  return least;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pin::Model model;
  if (std::strcmp(argv[2], "free") == 0)
    pin::urdf::buildModel(argv[1], pin::JointModelFreeFlyer(), model);
  else
    pin::urdf::buildModel(argv[1], model);
  pin::Data data(model);
  const std::size_t count = 256;
  std::vector<Eigen::VectorXd> q, v, a;
  model.lowerPositionLimit.setConstant(-1);
  model.upperPositionLimit.setConstant(1);
  for (std::size_t k = 0; k < count; ++k) {
    q.push_back(pin::randomConfiguration(model));
    v.push_back(Eigen::VectorXd::Random(model.nv));
    a.push_back(Eigen::VectorXd::Random(model.nv));
  }
  std::printf("rnea %.4f\n", best(count, [&](std::size_t k) { pin::rnea(model, data, q[k], v[k], a[k]); }));
  std::printf("aba %.4f\n", best(count, [&](std::size_t k) { pin::aba(model, data, q[k], v[k], a[k]); }));
  std::printf("crba %.4f\n", best(count, [&](std::size_t k) { pin::crba(model, data, q[k]); }));
  std::printf("kinematics %.4f\n", best(count, [&](std::size_t k) { pin::forwardKinematics(model, data, q[k]); }));
  return 0;
}
