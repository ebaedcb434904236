import type { IntOrString } from '../../generated/types.ts';

const PERCENT = /^(\d+)%$/;

/** A number, or that part of `whole`, rounded up. Undefined for what is neither: validation lets none pass. */
export function scaled({ type, intVal = 0, strVal = '' }: IntOrString, whole: number): number | undefined {
  if (type !== 1) return intVal;
  const percent = percentOf(strVal);
  return percent === undefined ? undefined : Math.ceil((percent * whole) / 100);
}

export function percentOf(text: string): number | undefined {
  const [, digits] = PERCENT.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
