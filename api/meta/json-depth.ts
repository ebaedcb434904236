/**
 * How deeply JSON from outside may be nested. The API's own messages have at most 32 levels;
 * far below what a recursive reader can take.
 */
export const maxJsonDepth = 128;

/** Whether lists and objects are nested more deeply than allowed. Looks no deeper than that itself. */
export function isTooDeep(value: unknown, left = maxJsonDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (left === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isTooDeep(item, left - 1)) return true;
    return false;
  }
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], left - 1)) return true;
  return false;
}

/** Below this size the parser is done in milliseconds whatever it reads. */
const SMALL_BYTES = 16 * 1024;
const [quote, backslash, openBracket, openBrace, closeBracket, closeBrace] = [0x22, 0x5c, 0x5b, 0x7b, 0x5d, 0x7d];

/**
 * The same of a text that was not parsed yet: for each byte that only nests, the parser takes a microsecond and some
 * hundred bytes of memory. A small text, and one that is no JSON, may pass.
 */
export function isTextTooDeep(text: string | Uint8Array): boolean {
  if (text.length < SMALL_BYTES) return false;
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  let depth = 0;
  let isQuoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (isQuoted) {
      if (byte === backslash) i++;
      else if (byte === quote) isQuoted = false;
    } else if (byte === quote) isQuoted = true;
    else if (byte === openBracket || byte === openBrace) {
      if (++depth > maxJsonDepth) return true;
    } else if (byte === closeBracket || byte === closeBrace) depth--;
  }
  return false;
}

export const tooDeepText = `is nested more than ${maxJsonDepth} levels deep`;
