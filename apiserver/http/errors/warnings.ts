/** As Kubernetes bounds them: some clients read no more than 16 KiB of headers. */
const mostBytes = 4_096;
const mostCharacters = 1_024;

/** Warnings as the values of the header, as far as they fit. */
export function warningHeaders(warnings: readonly string[]): string[] {
  const headers: string[] = [];
  let bytes = 0;
  for (const warning of warnings) {
    const header = warningHeader(warning);
    bytes += header.length;
    if (bytes > mostBytes) return [...headers, warningHeader(`${warnings.length - headers.length} more warnings are left out`)];
    headers.push(header);
  }
  return headers;
}

/** A warning as RFC 7234 has it: code, agent, quoted text. Headers hold no control characters, and ASCII alone. */
function warningHeader(text: string): string {
  const whole = text.length > mostCharacters ? `${text.slice(0, mostCharacters)}...` : text;
  const plain = whole.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, (character) => `\\${character}`);
  return `299 - "${plain}"`;
}
