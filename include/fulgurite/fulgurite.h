#pragma once
// Everything a program needs.
#include <fulgurite/detail/requirements.h>

#include <fulgurite/compare.h>
#include <fulgurite/dtype.h>
#include <fulgurite/error.h>
#include <fulgurite/number.h>
#include <fulgurite/operators.h>
#include <fulgurite/shape.h>
#include <fulgurite/source_location.h>
#include <fulgurite/symbol.h>
#include <fulgurite/tensor.h>
#include <fulgurite/trace.h>
#include <fulgurite/trace_support.h>
#include <fulgurite/value.h>

#include <fulgurite/accessor.h>
#include <fulgurite/autocast.h>
#include <fulgurite/autograd.h>
#include <fulgurite/autograd_function.h>
#include <fulgurite/compiled_autograd.h>
#include <fulgurite/counters.h>
#include <fulgurite/data_dependent.h>
#include <fulgurite/examine.h>
#include <fulgurite/explorer.h>
#include <fulgurite/extend.h>
#include <fulgurite/fusion_executor.h>
#include <fulgurite/grad_scaler.h>
#include <fulgurite/io.h>
#include <fulgurite/jit.h>
#include <fulgurite/memory.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/profile.h>
#include <fulgurite/random.h>
#include <fulgurite/supported.h>
