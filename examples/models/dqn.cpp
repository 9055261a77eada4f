// Deep Q-learning: a pole is balanced on a cart by pushes to the left and right; the environment is built in.
#include <array>

#include "training.h"

using namespace example;

namespace {

constexpr int64_t batch_size = 64, capacity = 512;
constexpr double discount = 0.99;
using State = std::array<double, 4>;  // of the cart: position, speed; of the pole: angle, angular speed

// A linear congruential generator, the same in every language.
class Lcg {
 public:
  uint64_t below(uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_ = 1;
};

class Cart {
 public:
  const State& state() const { return state_; }
  void reset(Lcg& draws) {
    for (double& s : state_) s = (static_cast<double>(draws.below(1000)) / 1000 - 0.5) * 0.1;
    age_ = 0;
  }
  /// Pushes for a fiftieth of a second. Returns true if the pole or the cart is out of bounds, or after 200 pushes.
  bool push(int64_t action) {
    auto& [x, v, angle, turn] = state_;
    const double force = action == 1 ? 10 : -10, sine = std::sin(angle), cosine = std::cos(angle);
    const double pushed = (force + 0.05 * turn * turn * sine) / 1.1;
    const double of_turn = (9.8 * sine - cosine * pushed) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    const double of_speed = pushed - 0.05 * of_turn * cosine / 1.1;
    x += 0.02 * v;
    v += 0.02 * of_speed;
    angle += 0.02 * turn;
    turn += 0.02 * of_turn;
    return std::abs(x) > 2.4 || std::abs(angle) > 0.2094 || ++age_ >= 200;
  }

 private:
  State state_{};
  int age_ = 0;
};

struct Memory {
  State before, after;
  int64_t action;
  bool is_end;
};

struct Network {
  nn::Linear first{4, 128}, second{128, 128}, values{128, 2};
  fg::Tensor operator()(const fg::Tensor& x) const { return values(fg::relu(second(fg::relu(first(x))))); }
};
struct Agent {
  Network online, target;
};

fg::Tensor loss_of(Network online, Network target, fg::Tensor before, fg::Tensor action, fg::Tensor after,
                   fg::Tensor goes_on) {
  const auto value = fg::gather(online(before), 1, action.unsqueeze(1)).squeeze(1);
  const auto later = std::get<0>(fg::max(target(after), 1)).detach();
  return nn::smooth_l1_loss(value, 1 + discount * goes_on * later);
}

fg::Tensor rows_of(const std::vector<State>& states) {
  std::vector<float> numbers;
  for (const State& state : states) numbers.insert(numbers.end(), state.begin(), state.end());
  return fg::tensor(std::span<const float>(numbers), {static_cast<int64_t>(states.size()), 4});
}

class Player {
 public:
  Player() {
    cart_.reset(draws_);
    while (static_cast<int64_t>(memories_.size()) < capacity) play(static_cast<int64_t>(draws_.below(2)));
  }
  void play(int64_t action) {
    Memory memory{cart_.state(), {}, action, cart_.push(action)};
    memory.after = cart_.state();
    if (memory.is_end) cart_.reset(draws_);
    if (static_cast<int64_t>(memories_.size()) < capacity) memories_.push_back(memory);
    else memories_[next_++ % capacity] = memory;
  }
  /// One push in ten is at random, the others are the best that the network knows.
  void play_by(const std::function<fg::Tensor(fg::Tensor)>& values) {
    const bool is_random = draws_.below(10) == 0;
    const auto random = static_cast<int64_t>(draws_.below(2));
    play(is_random ? random : fg::argmax(values(rows_of({cart_.state()}))).item<int64_t>());
  }
  Batch sample() {
    std::vector<State> before, after;
    std::vector<int64_t> actions;
    std::vector<float> goes_on;
    for (int64_t i = 0; i < batch_size; ++i) {
      const Memory& memory = memories_[draws_.below(capacity)];
      before.push_back(memory.before);
      after.push_back(memory.after);
      actions.push_back(memory.action);
      goes_on.push_back(memory.is_end ? 0 : 1);
    }
    return {{"before", rows_of(before)},
            {"after", rows_of(after)},
            {"action", fg::tensor(actions)},
            {"goes_on", fg::tensor(goes_on)}};
  }

 private:
  Lcg draws_;
  Cart cart_;
  std::vector<Memory> memories_;
  size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  Agent agent;
  nn::load_state_dict(agent.target, nn::state_dict(agent.online));
  fg::optim::Adam optimizer(nn::parameters(agent.online), {.lr = 1e-3});
  const auto values = fg::jit([](Network network, fg::Tensor state) { return network(state); });
  const auto loss = fg::jit(loss_of);
  Player player;
  int step = 0;
  return train(argc, argv, agent, {}, [&](Batch&) {
    for (int i = 0; i < 4; ++i)
      player.play_by([&](const fg::Tensor& state) {
        const fg::NoGrad no_grad;
        return values(agent.online, state);
      });
    Batch b = player.sample();
    auto result =
        descend(loss(agent.online, agent.target, b["before"], b["action"], b["after"], b["goes_on"]), optimizer);
    if (++step % 5 == 0) nn::load_state_dict(agent.target, nn::state_dict(agent.online));
    return result;
  });
}
