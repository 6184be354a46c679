#pragma once
#include <boost/math/policies/policy.hpp>

namespace headroom::tasks {

/// A policy for Boost without exceptions, whose messages name neither trial nor claim: undefined values become NaN,
/// overflow becomes infinity, and the caller reports them.
using NoThrow = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::rounding_error<boost::math::policies::ignore_error>,
    boost::math::policies::indeterminate_result_error<boost::math::policies::ignore_error>>;

}  // namespace headroom::tasks
