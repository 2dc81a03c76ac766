/*
 * Reviewer: accept every
 * requirement, answer yes for all of them.
 */
