/** A value that is nearly always there at once: there is a promise only where it must be waited for. */
export type Eventually<T> = T | Promise<T>;

/** Goes on with the value, without a promise where there is none: on the way of every call each costs memory. */
export function andThen<T, R>(value: Eventually<T>, next: (value: T) => Eventually<R>): Eventually<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
