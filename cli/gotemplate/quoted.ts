const escapes: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '\\': '\\', "'": "'", '"': '"' },
};

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;

/**
 * The text that a string or character of Go's syntax stands for: in quotes of any of the three kinds. Undefined:
 * it cannot be read.
 */
export function unquote(text: string): string | undefined {
  const inner = text.slice(1, -1);
  if (text.startsWith('`')) return inner;
  let isGood = true;
  const value = inner.replace(ESCAPE, (_, hex?: string, short?: string, long?: string, octal?: string, letter?: string) => {
    const digits = hex ?? short ?? long;
    const code = digits !== undefined ? Number.parseInt(digits, 16) : octal === undefined ? undefined : Number.parseInt(octal, 8);
    if (code !== undefined && code <= 0x10ffff) return String.fromCodePoint(code);
    const character = escapes[letter ?? ''];
    isGood &&= character !== undefined;
    return character ?? '';
  });
  const isOne = !text.startsWith("'") || [...value].length === 1;
  return isGood && isOne ? value : undefined;
}

const short: Readonly<Record<string, string>> = {
  ...{ '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' },
  ...{ '"': '\\"', '\\': '\\\\' },
};

/** A text in double quotes, as Go's %q has it. */
export function quote(text: string): string {
  const inner = text.replace(/["\\]|[^\P{C}]|[^\P{Z} ]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (short[character] !== undefined) return short[character];
    if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return `"${inner}"`;
}
