/** What was asked for does not exist: told in a line, without a stack trace. */
export class UsageError extends Error {}
