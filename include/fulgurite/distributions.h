#pragma once
// Probability distributions: densities, draws, divergences (torch.distributions).
#include <fulgurite/detail/requirements.h>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/discrete_distributions.h>
#include <fulgurite/distribution.h>
#include <fulgurite/further_distributions.h>
#include <fulgurite/multivariate_distributions.h>
#include <fulgurite/transformed_distributions.h>
