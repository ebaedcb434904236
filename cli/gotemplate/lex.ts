import { TemplateError } from './template-error.ts';

export type TokenType =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'field'
  | 'dot'
  | 'variable'
  | 'identifier'
  | 'keyword'
  | 'string'
  | 'number'
  | 'bool'
  | 'nil'
  | 'declare'
  | 'assign'
  | 'comma'
  | 'pipe'
  | 'left paren'
  | 'right paren'
  /** A character that has no meaning there; the parser says where. */
  | 'other'
  | 'EOF';

export interface Token {
  readonly type: TokenType;
  /** As it stands in the template; the text between actions is trimmed as they ask for. */
  readonly text: string;
  /** Where it begins. */
  readonly at: number;
}

const keywords: ReadonlySet<string> = new Set([
  ...['block', 'break', 'continue', 'define', 'else', 'end', 'if', 'range', 'template', 'with'],
]);

const simple: Readonly<Record<string, TokenType>> = {
  ':=': 'declare',
  '=': 'assign',
  ',': 'comma',
  '|': 'pipe',
  '(': 'left paren',
  ')': 'right paren',
};

const SPACE = /[ \t\r\n]+/y;
const COMMENT = /\/\*/y;
const CLOSE = /(?:[ \t\r\n]-)?\}\}/y;
const SIMPLE = /:=|[=,|()]/y;
const NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)(?![\p{L}\p{Nd}_])/uy;
const NUMBER_START = /[+-]?\.?\d/y;
const CHARACTER = /'(?:\\[^\n]|[^'\\\n])+'/y;
const QUOTED = /"(?:\\[^\n]|[^"\\\n])*"/y;
const RAW = /`[^`]*`/y;
const WORD = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
const FIELD = /\.[\p{L}_][\p{L}\p{Nd}_]*/uy;
const VARIABLE = /\$[\p{L}\p{Nd}_]*/uy;
const TERMINATOR = /[\s.,|:)(=]|\}\}|$/y;

/** Cuts a template into tokens. Throws TemplateError. */
export function lexTemplate(text: string): Token[] {
  return new Lexer(text).run();
}

class Lexer {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  /** The text that follows loses the space at its beginning. */
  #trims = false;

  constructor(text: string) {
    this.#text = text;
  }

  run(): Token[] {
    for (;;) {
      const open = this.#text.indexOf('{{', this.#at);
      const end = open < 0 ? this.#text.length : open;
      const trimsBefore = open >= 0 && /^-[ \t\r\n]/.test(this.#text.slice(open + 2, open + 4));
      this.#pushText(end, trimsBefore);
      if (open < 0) {
        this.#push('EOF', this.#text.length, '');
        return this.#tokens;
      }
      this.#at = open + (trimsBefore ? 4 : 2);
      if (this.#peek(COMMENT)) this.#comment();
      else this.#action(open);
    }
  }

  #pushText(end: number, trimsEnd: boolean): void {
    let text = this.#text.slice(this.#at, end);
    if (this.#trims) text = text.replace(/^[ \t\r\n]+/, '');
    if (trimsEnd) text = text.trimEnd();
    this.#trims = false;
    if (text !== '') this.#push('text', this.#at, text);
  }

  #comment(): void {
    const start = this.#at;
    const end = this.#text.indexOf('*/', this.#at + 2);
    if (end < 0) throw this.#wrong('unclosed comment', start);
    this.#at = end + 2;
    if (!this.#close()) throw this.#wrong('comment ends before closing delimiter', start);
  }

  #action(open: number): void {
    this.#push('open', open, '{{');
    let parens = 0;
    for (;;) {
      const start = this.#at;
      if (this.#close()) {
        if (parens > 0) throw this.#wrong('unclosed left paren', start);
        this.#push('close', start, '}}');
        return;
      }
      if (start >= this.#text.length) throw this.#wrong('unclosed action', open);
      const token = this.#inside();
      this.#tokens.push(token);
      if (token.type === 'left paren') parens++;
      if (token.type === 'right paren' && --parens < 0) throw this.#wrong('unexpected right paren', start);
    }
  }

  /** Takes the end of an action, where one is; the space before "-}}" belongs to it. */
  #close(): boolean {
    const found = this.#take(CLOSE);
    if (found === undefined) return false;
    this.#trims = found.length > 2;
    return true;
  }

  #inside(): Token {
    const at = this.#at;
    const token = (type: TokenType, text: string | undefined): Token | undefined =>
      text === undefined ? undefined : { type, text, at };
    if (this.#peek(SPACE)) return this.#space();
    const symbol = this.#take(SIMPLE);
    if (symbol !== undefined) return { type: simple[symbol]!, text: symbol, at };
    const found =
      this.#number() ??
      token('string', this.#quoted()) ??
      token('field', this.#terminated(FIELD)) ??
      token('variable', this.#terminated(VARIABLE)) ??
      this.#word();
    if (found !== undefined) return found;
    if (this.#text[at] === '.') {
      this.#at++;
      return { type: 'dot', text: '.', at };
    }
    if (/[!-~]/.test(this.#text[at] ?? '')) {
      this.#at++;
      return { type: 'other', text: this.#text[at]!, at };
    }
    throw this.#wrong(`unrecognized character in action: ${characterName(this.#text, at)}`, at);
  }

  /** Space as far as it does not belong to the end of the action. */
  #space(): Token {
    const at = this.#at;
    do this.#at++;
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '') && !this.#peek(CLOSE));
    return { type: 'space', text: this.#text.slice(at, this.#at), at };
  }

  #number(): Token | undefined {
    const at = this.#at;
    const character = this.#take(CHARACTER);
    if (character !== undefined) return { type: 'number', text: character, at };
    if (!this.#peek(NUMBER_START)) return undefined;
    const text = this.#take(NUMBER);
    if (text === undefined) {
      const wrong = /^[+\-.\p{L}\p{Nd}_]+/u.exec(this.#text.slice(at))?.[0] ?? '';
      throw this.#wrong(`bad number syntax: ${JSON.stringify(wrong)}`, at);
    }
    return { type: 'number', text, at };
  }

  #quoted(): string | undefined {
    const at = this.#at;
    const found = this.#take(QUOTED) ?? this.#take(RAW);
    if (found !== undefined) return found;
    const quote = this.#text[at];
    if (quote === '"') throw this.#wrong('unterminated quoted string', at);
    if (quote === '`') throw this.#wrong('unterminated raw quoted string', at);
    if (quote === "'") throw this.#wrong('unterminated character constant', at);
    return undefined;
  }

  #word(): Token | undefined {
    const at = this.#at;
    const text = this.#terminated(WORD);
    if (text === undefined) return undefined;
    if (keywords.has(text)) return { type: 'keyword', text, at };
    if (text === 'true' || text === 'false') return { type: 'bool', text, at };
    return { type: text === 'nil' ? 'nil' : 'identifier', text, at };
  }

  #terminated(pattern: RegExp): string | undefined {
    const found = this.#take(pattern);
    if (found !== undefined && !this.#peek(TERMINATOR))
      throw this.#wrong(`bad character ${characterName(this.#text, this.#at)}`, this.#at);
    return found;
  }

  #peek(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text);
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #push(type: TokenType, at: number, text: string): void {
    this.#tokens.push({ type, text, at });
  }

  #wrong(why: string, at: number): TemplateError {
    return new TemplateError(this.#text, at, why);
  }
}

/** "U+002D '-'", as Go names a character. */
function characterName(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')} '${String.fromCodePoint(code)}'`;
}
