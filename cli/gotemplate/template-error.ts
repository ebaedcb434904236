/** The name that kubectl gives its template. */
export const templateName = 'output';

/** What is wrong with a template, and where, in Go's words: "template: output:1: unclosed action". */
export class TemplateError extends Error {
  constructor(text: string, at: number, why: string) {
    super(`template: ${templateName}:${lineAndColumn(text, at).line}: ${why}`);
  }
}

/** The line counts from 1 and the column from 0, as Go counts them. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: Buffer.byteLength(before.at(-1) ?? '') };
}

export function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
