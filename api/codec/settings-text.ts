/**
 * What a file of settings may have: certificates of hundreds of clusters, and little enough for a reader that takes
 * seconds for the worst of a megabyte.
 */
export const maxSettingsBytes = 1024 * 1024;

/**
 * The text of a file from its bytes. Throws an Error, to be put behind the file's name, when it is too long or no text.
 */
export async function settingsText(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const bytes: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxSettingsBytes) throw new Error('it is larger than 1 MiB, too large for a file of settings');
    bytes.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(bytes));
  } catch {
    throw new Error('it is no text; settings are YAML or JSON in UTF-8');
  }
}
