// A line of the engine's is an event or a step of a pull: a few hundred bytes. More is damage,
// and must not fill memory.
const longestLine = 1_000_000;

/** Reads a stream of JSON objects, one a line, as they come. */
export async function* parseLines<T>(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of source) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as T;
    if (rest.length > longestLine) throw new Error(`a line of more than ${longestLine} characters in the engine's answer`);
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as T;
}
