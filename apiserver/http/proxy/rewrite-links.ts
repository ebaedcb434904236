import { Transform, type TransformCallback } from 'node:stream';

/** Where a proxy stands among the paths of the server. */
export interface ProxyPlace {
  /** "/api/v1/namespaces/N/services/S/proxy" */
  readonly prefix: string;
  /** The hosts that mean the other side. */
  readonly hosts: readonly string[];
}

/**
 * A link of the other side, as it is followed through the proxy: an absolute path gets the prefix, unless it has it
 * already. Links to other hosts, and relative ones, stay as they are. As Kubernetes does it.
 */
export function rewriteLink(link: string, { prefix, hosts }: ProxyPlace): string {
  const isPath = link.startsWith('/') && !link.startsWith('//');
  if (isPath) return link === prefix || link.startsWith(`${prefix}/`) ? link : prefix + link;
  if (!/^(?:https?:)?\/\//i.test(link)) return link;
  const base = 'http://door/';
  if (!URL.canParse(link, base)) return link;
  const url = new URL(link, base);
  return hosts.includes(url.host) ? rewriteLink(`${url.pathname}${url.search}${url.hash}`, { prefix, hosts }) : link;
}

/** The attributes that hold links, by element. */
const linking: Readonly<Record<string, string>> = {
  ...{ a: 'href', area: 'href', audio: 'src', base: 'href', blockquote: 'cite', body: 'background', button: 'formaction' },
  ...{ command: 'icon', del: 'cite', embed: 'src', form: 'action', frame: 'longdesc src', head: 'profile', html: 'manifest' },
  ...{ iframe: 'longdesc src', img: 'longdesc src usemap', input: 'formaction src usemap', ins: 'cite', link: 'href' },
  ...{ object: 'codebase data usemap', q: 'cite', script: 'src', source: 'src', track: 'src', video: 'poster src' },
};
/** Of these the content is text. */
const opaque: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'title']);
/** A longer tag passes as it is. */
const MOST_TAG = 16 * 1024;

/** Rewrites the links of an HTML page on its way, whatever pieces it comes in; at most one tag is held. */
export class LinkRewriter extends Transform {
  readonly #place: ProxyPlace;
  /** What may be the beginning of a tag, or the end of what is passed over. */
  #rest = '';
  /** Up to which text everything passes; undefined between tags. */
  #until: string | undefined;

  constructor(place: ProxyPlace) {
    super();
    this.#place = place;
  }

  // Every byte is a character: tags are ASCII in all encodings that extend it, and other bytes stay the same.
  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, Buffer.from(this.#take(this.#rest + chunk.toString('latin1')), 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#rest, 'latin1'));
  }

  #take(text: string): string {
    let out = '';
    let at = 0;
    this.#rest = '';
    while (at < text.length) {
      if (this.#until !== undefined) {
        const { length } = this.#until;
        const end = indexOfAny(text, this.#until, at);
        if (end < 0) {
          // The end may have begun in this piece.
          const safe = Math.max(at, text.length - length + 1);
          this.#rest = text.slice(safe);
          return out + text.slice(at, safe);
        }
        out += text.slice(at, end + length);
        at = end + length;
        this.#until = undefined;
        continue;
      }
      const open = text.indexOf('<', at);
      if (open < 0) return out + text.slice(at);
      out += text.slice(at, open);
      const tag = readTag(text, open);
      if (tag === undefined) {
        this.#rest = text.slice(open);
        return out;
      }
      out += tag.isTag ? rewriteTag(tag.text, this.#place) : tag.text;
      at = open + tag.text.length;
      if (tag.text === COMMENT) this.#until = '-->';
      else if (opaque.has(tag.name)) this.#until = `</${tag.name}`;
    }
    return out;
  }
}

/** The place of a text, in whatever case it is written. */
function indexOfAny(text: string, wanted: string, from: number): number {
  const search = new RegExp(wanted, 'gi');
  search.lastIndex = from;
  return search.exec(text)?.index ?? -1;
}

interface Tag {
  readonly text: string;
  readonly name: string;
  /** Whether it is a whole tag; otherwise it is a sign that begins none, or not one that ends soon. */
  readonly isTag: boolean;
}

const COMMENT = '<!--';
const tagName = /^<([a-z0-9]{1,20})(?=[\s/>])/i;

/** The tag at a place; undefined where more text has to come. Every sign is looked at a few times at most. */
function readTag(text: string, open: number): Tag | undefined {
  const noTag = (length: number): Tag => ({ text: text.slice(open, open + length), name: '', isTag: false });
  if (text.startsWith(COMMENT, open)) return noTag(COMMENT.length);
  if (COMMENT.startsWith(text.slice(open))) return undefined;
  if (!/[a-z/!?]/i.test(text[open + 1]!)) return noTag(1);
  let quote = '';
  const last = Math.min(text.length, open + MOST_TAG);
  for (let at = open + 1; at < last; at++) {
    const character = text[at]!;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '<') return noTag(at - open);
    else if (character === '>') {
      const whole = text.slice(open, at + 1);
      return { text: whole, name: tagName.exec(whole)?.[1]?.toLowerCase() ?? '', isTag: true };
    }
  }
  return last < text.length ? noTag(1) : undefined;
}

const isSpace = (character: string | undefined): boolean => character !== undefined && ' \t\n\r\f'.includes(character);

function rewriteTag(tag: string, place: ProxyPlace): string {
  const [start = '', name = ''] = tagName.exec(tag) ?? [];
  const attributes = linking[name.toLowerCase()]?.split(' ');
  if (!attributes) return tag;
  let out = start;
  for (let at = start.length; at < tag.length; ) {
    const { text, key, value } = readAttribute(tag, at);
    at += text.length;
    if (value === undefined || !attributes.includes(key)) out += text;
    else out += text.slice(0, value.at) + rewriteLink(value.text, place) + text.slice(value.at + value.text.length);
  }
  return out;
}

interface Attribute {
  readonly text: string;
  readonly key: string;
  readonly value?: { readonly at: number; readonly text: string };
}

/** The attribute at a place of a tag, with what stands before it. */
function readAttribute(tag: string, from: number): Attribute {
  let at = from;
  const skip = (test: (character: string) => boolean): number => {
    while (at < tag.length && test(tag[at]!)) at++;
    return at;
  };
  skip((each) => isSpace(each) || each === '/' || each === '>');
  const nameAt = at;
  skip((each) => !isSpace(each) && !'=/>'.includes(each));
  const key = tag.slice(nameAt, at).toLowerCase();
  const nameEnd = at;
  skip(isSpace);
  if (tag[at] !== '=') {
    at = Math.max(nameEnd, from + 1);
    return { text: tag.slice(from, at), key };
  }
  at++;
  skip(isSpace);
  const quote = tag[at] === '"' || tag[at] === "'" ? tag[at]! : '';
  if (quote !== '') at++;
  const valueAt = at;
  skip(quote === '' ? (each) => !isSpace(each) && each !== '>' : (each) => each !== quote);
  const value = { at: valueAt - from, text: tag.slice(valueAt, at) };
  if (quote !== '') at++;
  return { text: tag.slice(from, at), key, value };
}
