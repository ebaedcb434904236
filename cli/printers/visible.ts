/**
 * Text from elsewhere (messages, arguments, annotations) as one line that a terminal may show: control characters,
 * which could move the cursor, colour what follows or hide text, become visible ("^[" for escape), and so do marks that
 * turn the direction of text round ("<U+202E>").
 */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, visibleCharacter);
}

/** The same for text of several lines. */
export function visibleLines(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, visibleCharacter);
}

function visibleCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x80) return `^${String.fromCharCode(code ^ 0x40)}`;
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
