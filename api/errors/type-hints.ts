const plainWords = /^[\w./:=@%+,-]+(?: [\w./:=@%+,-]+)*$/;
const units: Readonly<Record<string, string>> = { k: 'k', m: 'M', g: 'G', t: 'T', p: 'P' };

/**
 * What to write instead of a value of the wrong type, for what people bring from Docker and Compose, and for what YAML
 * makes of 5, yes and true without quotes; empty where nothing is known. Pure.
 */
export function typeHint(field: string, expected: string, found: string): string {
  const text = /^string "(.*)"$/.exec(found)?.[1];
  if (expected === 'a string') return /^(number|true|false|boolean)/.test(found) ? '; put it in quotes' : '';
  if (expected === 'true or false') return /^(true|false)$/.test(text ?? '') ? '; remove the quotes' : '';
  if (/^an? (integer|number)/.test(expected)) return /^-?\d+$/.test(text ?? '') ? '; remove the quotes' : '';
  if (expected === 'a list') return listHint(field, text, found);
  if (expected === 'an object') return portHint(field, /^(?:number |string ")(?:(\d+):)?(\d+)"?$/.exec(found));
  if (expected === 'base64 text') return /^data\[/.test(field) ? '; stringData takes plain text' : '';
  return expected.startsWith('a quantity') ? quantityHint(text) : '';
}

function listHint(field: string, text: string | undefined, found: string): string {
  if (field.endsWith('.env') && found === 'an object') return '; each variable is an entry "- {name: NAME, value: TEXT}"';
  if (text === undefined || !plainWords.test(text)) return '';
  const words = text.split(' ').map((word) => JSON.stringify(word));
  return `; write [${words.join(', ')}]`;
}

function portHint(field: string, port: RegExpExecArray | null): string {
  if (port === null || !/(^|\.)ports\[\d+\]$/.test(field)) return '';
  const [, outer, inner] = port;
  if (!field.startsWith('spec.ports')) return `; write {containerPort: ${inner}}`;
  return outer === undefined ? `; write {port: ${inner}}` : `; write {port: ${outer}, targetPort: ${inner}}`;
}

/** "1GB", "512mb" and "1GiB": Kubernetes' units have no letter for bytes. */
function quantityHint(text: string | undefined): string {
  const [, amount, unit, binary = ''] = /^(\d+(?:\.\d+)?) ?([kmgtp])(i?)b$/i.exec(text ?? '') ?? [];
  if (amount === undefined || unit === undefined) return '';
  const letter = units[unit.toLowerCase()]!;
  return `; did you mean "${amount}${binary === '' ? letter : `${letter.toUpperCase()}i`}"?`;
}
