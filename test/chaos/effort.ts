/**
 * Whether the chaos tests run as long as is claimed of them (`hack/chaos`),
 * or only as long as a day's work allows (`hack/test`).
 */
export const isLong = process.env.BERTH_CHAOS === 'long';

/** How much of something a test does in its short and in its long form. */
export const effort = (short: number, long: number): number => (isLong ? long : short);
