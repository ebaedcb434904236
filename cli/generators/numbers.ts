import { badRequest } from '../../api/errors/index.ts';

/** Reads a flag that takes a whole number within bounds. Throws INVALID_ARGUMENT. */
export function wholeNumber(flag: string, text: string, { least = 0, most = 2 ** 31 - 1 } = {}): number {
  const number = Number(text);
  if (!/^-?\d+$/.test(text.trim()) || number < least || number > most) {
    const bounds = most === 2 ** 31 - 1 ? `from ${least} on` : `from ${least} to ${most}`;
    throw badRequest(`${flag} takes a whole number ${bounds}, not "${text}"`);
  }
  return number;
}

const highestPort = 65_535;

/** Reads a flag that takes the number of a port. */
export function portNumber(flag: string, text: string): number {
  return wholeNumber(flag, text, { least: 1, most: highestPort });
}
