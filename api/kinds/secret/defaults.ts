import type { Secret } from '../../generated/types.ts';

/** The type is Opaque; stringData, which only writes know, goes into data, where it wins. */
export function defaultSecret(secret: Secret): void {
  secret.type ||= 'Opaque';
  const texts = Object.entries(secret.stringData ?? {});
  delete secret.stringData;
  if (texts.length === 0) return;
  const data = { ...secret.data };
  for (const [key, text] of texts) data[key] = Buffer.from(text);
  secret.data = data;
}
