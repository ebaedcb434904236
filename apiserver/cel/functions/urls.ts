import type { Budget } from '../budget.ts';
import { failed, MapValue, Opaque, type Value } from '../values.ts';
import { type Library, opaqueArg, readTexts, textArg } from './library.ts';

/** Characters of a URL. */
const URL_CHARACTERS = 8192;

/** What Go's net/url.ParseRequestURI takes apart: an absolute URL, or a path that starts with "/". */
class UrlValue extends Opaque {
  override readonly typeName = 'net.URL';
  override readonly identity: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string, parts: { scheme: string; host: string; path: string; query: string }) {
    super();
    this.identity = text;
    this.scheme = parts.scheme;
    this.host = parts.host;
    this.path = parts.path;
    this.query = parts.query;
  }

  /** The host without its port, and an IPv6 address without brackets. */
  get hostname(): string {
    const [, v6, name] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(this.host) ?? [];
    return v6 ?? name ?? '';
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host.replace(/^\[[^\]]*\]/, ''))?.[1] ?? '';
  }
}

export function parseUrl(text: string): UrlValue | undefined {
  if (text.length > URL_CHARACTERS || hasControls(text)) return undefined;
  if (/%(?![0-9a-fA-F]{2})/.test(text.split('?')[0]!)) return undefined;
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)$/.exec(text) ?? [];
  if (scheme === '' && !rest.startsWith('/')) return undefined;
  const [, authority, path = '', query = ''] = /^(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/.exec(rest) ?? [];
  if (scheme === '' && authority !== undefined) return undefined;
  const host = (authority ?? '').slice((authority ?? '').lastIndexOf('@') + 1);
  if (!/^(\[[0-9A-Fa-f:.%]*\]|[^[\]:\s<>"]*)(:\d*)?$/.test(host)) return undefined;
  if (scheme !== '' && authority === undefined && !path.startsWith('/')) return undefined;
  return new UrlValue(text, { scheme: scheme.toLowerCase(), host, path, query });
}

function hasControls(text: string): boolean {
  return [...text].some((each) => each < ' ' || each === '\u007f');
}

const urlArg = (value: Value | undefined): UrlValue => opaqueArg(UrlValue, 'a URL', value);

/** A name, with its text and its list, takes longer than a character. */
function queryOf(query: string, budget: Budget): MapValue {
  budget.take(query.length);
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    const list = values.get(name);
    if (list === undefined) values.set(name, [value]);
    else list.push(value);
  }
  const map = new MapValue();
  for (const [name, list] of values) map.set(name, list, budget);
  return map;
}

const GETTERS = ['getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'];

/** Kubernetes' URL library. */
export const urls: Library = {
  name: 'URL',
  types: { 'net.URL': UrlValue },
  signatures: [
    'url(string): net.URL',
    'isURL(string): bool',
    ...GETTERS.map((name) => `net.URL.${name}(): string`),
    'net.URL.getQuery(): map<string, list<string>>',
  ],
  handlers: {
    url: ([text], budget) => {
      readTexts(budget, textArg(text));
      return parseUrl(textArg(text)) ?? failed('the text is no URL');
    },
    isURL: ([text], budget) => {
      readTexts(budget, textArg(text));
      return parseUrl(textArg(text)) !== undefined;
    },
    getScheme: ([url]) => urlArg(url).scheme,
    getHost: ([url]) => urlArg(url).host,
    getHostname: ([url], budget) => {
      readTexts(budget, urlArg(url).host);
      return urlArg(url).hostname;
    },
    getPort: ([url], budget) => {
      readTexts(budget, urlArg(url).host);
      return urlArg(url).port;
    },
    getEscapedPath: ([url]) => urlArg(url).path,
    getQuery: ([url], budget) => queryOf(urlArg(url).query, budget),
  },
};
