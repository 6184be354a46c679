#pragma once
#include <boost/math/policies/policy.hpp>

namespace headroom::tasks {

/// Boost's functions without exceptions, whose words name neither trial nor claim: what has no value is NaN, what is
/// too large infinite, and who asked says so.
using NoThrow = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::rounding_error<boost::math::policies::ignore_error>,
    boost::math::policies::indeterminate_result_error<boost::math::policies::ignore_error>>;

}  // namespace headroom::tasks
