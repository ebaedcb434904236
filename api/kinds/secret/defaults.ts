import type { Secret } from '../../generated/types.ts';

/** The type is Opaque; stringData, which only writes know, goes into data, where it wins. */
export function defaultSecret(secret: Secret): void {
  secret.type ||= 'Opaque';
  const texts = Object.entries(secret.stringData ?? {});
  delete secret.stringData;
  if (texts.length === 0) return;
  // Assigning one by one would take the key "__proto__" for something else.
  secret.data = { ...secret.data, ...Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text)])) };
}
