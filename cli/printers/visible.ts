/**
 * Text from elsewhere (messages, arguments, annotations) as a terminal may show it: control characters, which could move the cursor,
 * colour what follows or hide text, become visible ("^[" for escape).
 */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x80 ? `^${String.fromCharCode(code ^ 0x40)}` : '?';
  });
}
