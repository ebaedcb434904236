import { isFunction } from './functions.ts';
import { lexTemplate, type Token } from './lex.ts';
import type { Command, Node, Operand, Pipeline, Template } from './nodes.ts';
import { unquote } from './quoted.ts';
import { TemplateError } from './template-error.ts';

/** So deep may actions and parentheses stand in each other. */
const maxDepth = 200;

/** Reads a template of Go's text/template. Throws TemplateError. */
export function parseGoTemplate(text: string): Template {
  return new Parser(text).template();
}

interface Ended {
  readonly nodes: Node[];
  /** What ended the list: its keyword. */
  readonly by: 'end' | 'else' | 'EOF';
}

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #defined = new Map<string, readonly Node[]>();
  #next = 0;
  #variables: string[] = ['$'];
  #ranges = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = lexTemplate(text);
  }

  template(): Template {
    const { nodes, by } = this.#list(true);
    if (by !== 'EOF') throw this.#wrong(`unexpected {{${by}}}`);
    return { text: this.#text, body: nodes, defined: this.#defined };
  }

  #list(isTop: boolean): Ended {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#take();
      if (token.type === 'EOF') {
        if (isTop) return { nodes, by: 'EOF' };
        throw this.#wrong('unexpected EOF', token);
      }
      if (token.type === 'text') {
        nodes.push({ type: 'text', text: token.text, at: token.at, end: this.#peek().at });
        continue;
      }
      const node = this.#deeper(token, () => this.#action(token, isTop));
      if (node === 'end' || node === 'else') return { nodes, by: node };
      if (node !== undefined) nodes.push(node);
    }
  }

  /** What follows "{{"; undefined for a definition. */
  #action(open: Token, isTop: boolean): Node | 'end' | 'else' | undefined {
    this.#space();
    const token = this.#peek();
    if (token.type !== 'keyword') {
      const pipeline = this.#pipeline('command', 'close');
      return { type: 'action', pipeline, at: pipeline.at, end: pipeline.end };
    }
    this.#take();
    switch (token.text) {
      case 'if':
      case 'with':
      case 'range':
        return this.#control(token.text, open.at);
      case 'end':
        this.#close('end');
        return 'end';
      case 'else':
        // What may follow is read with the action that it belongs to.
        this.#space();
        return 'else';
      case 'break':
      case 'continue':
        this.#close(token.text);
        if (this.#ranges === 0) throw this.#wrong(`{{${token.text}}} outside {{range}}`, token);
        return { type: token.text, at: open.at, end: token.at + token.text.length };
      case 'template':
        return this.#call(open);
      case 'block':
        return this.#block(open);
      default:
        if (!isTop) throw this.#wrong('unexpected {{define}}', token);
        this.#definition();
        return undefined;
    }
  }

  #control(type: 'if' | 'with' | 'range', at: number): Node {
    const known = this.#variables.length;
    const pipeline = this.#pipeline(type, 'close');
    const end = pipeline.end;
    if (type === 'range') this.#ranges++;
    const body = this.#list(false);
    if (type === 'range') this.#ranges--;
    let otherwise: readonly Node[] = [];
    if (body.by === 'else') otherwise = this.#otherwise(type);
    this.#variables.length = known;
    return { type, pipeline, body: body.nodes, otherwise, at, end };
  }

  /** Behind "{{else": an end, or another {{if}} or {{with}}, which shares the {{end}}. */
  #otherwise(type: 'if' | 'with' | 'range'): readonly Node[] {
    const token = this.#peek();
    if (token.type === 'keyword' && token.text === type && type !== 'range') {
      this.#take();
      return [this.#deeper(token, () => this.#control(type, token.at))];
    }
    this.#close('else');
    const { nodes, by } = this.#list(false);
    if (by === 'else') throw this.#wrong('expected end; found {{else}}');
    return nodes;
  }

  #call(open: Token): Node {
    const name = this.#name('template clause');
    this.#space();
    const hasValue = this.#peek().type !== 'close';
    const pipeline = hasValue ? this.#pipeline('template clause', 'close') : undefined;
    if (!hasValue) this.#close('template clause');
    return { type: 'template', name, pipeline, at: open.at, end: this.#peek().at };
  }

  #block(open: Token): Node {
    const name = this.#name('block clause');
    const pipeline = this.#pipeline('block clause', 'close');
    this.#body(name, 'block clause');
    return { type: 'template', name, pipeline, at: open.at, end: pipeline.end };
  }

  #definition(): void {
    const name = this.#name('define clause');
    this.#space();
    this.#close('define clause');
    this.#body(name, 'define clause');
  }

  /** The body of a template of its own: it knows no variables of the one around it. */
  #body(name: string, context: string): void {
    const [variables, ranges] = [this.#variables, this.#ranges];
    this.#variables = ['$'];
    this.#ranges = 0;
    const { nodes, by } = this.#list(false);
    if (by !== 'end') throw this.#wrong(`unexpected {{${by}}} in ${context}`);
    [this.#variables, this.#ranges] = [variables, ranges];
    const isEmpty = nodes.every((node) => node.type === 'text' && node.text.trim() === '');
    if (!isEmpty || !this.#defined.has(name)) this.#defined.set(name, nodes);
  }

  #name(context: string): string {
    this.#space();
    const token = this.#take();
    if (token.type !== 'string') throw this.#unexpected(token, context);
    return this.#unquoted(token);
  }

  #pipeline(context: string, end: 'close' | 'right paren'): Pipeline {
    this.#space();
    const { at } = this.#peek();
    const { variables, isAssignment } = this.#declarations(context);
    const commands: Command[] = [];
    for (;;) {
      this.#space();
      const token = this.#peek();
      if (token.type === end) {
        if (commands.length === 0) throw this.#wrong(`missing value for ${context}`, token);
        this.#take();
        if (!isAssignment) this.#variables.push(...variables);
        return { variables, isAssignment, commands, at, end: commands.at(-1)!.end };
      }
      const command = this.#command(context);
      const [first] = command.words;
      if (commands.length > 0 && !['field', 'function', 'variable', 'chain', 'pipeline'].includes(first.type))
        throw this.#wrong(`non executable command in pipeline stage ${commands.length + 1}`, token);
      commands.push(command);
    }
  }

  /** "$x :=", "$x =", or with {{range}} "$i, $x :=", where they stand. */
  #declarations(context: string): Pick<Pipeline, 'variables' | 'isAssignment'> {
    const before = this.#next;
    const names: string[] = [];
    while (this.#peek().type === 'variable') {
      names.push(this.#take().text);
      this.#space();
      const token = this.#peek();
      if (token.type === 'declare' || token.type === 'assign') {
        this.#take();
        if (token.type === 'assign') for (const name of names) this.#checkVariable(name, token);
        return { variables: names, isAssignment: token.type === 'assign' };
      }
      if (token.type !== 'comma') break;
      if (context !== 'range' || names.length > 1) throw this.#wrong(`too many declarations in ${context}`, token);
      this.#take();
      this.#space();
    }
    this.#next = before;
    return { variables: [], isAssignment: false };
  }

  #command(context: string): Command {
    const { at } = this.#peek();
    const words: Operand[] = [];
    for (;;) {
      this.#space();
      const operand = this.#operand();
      if (operand !== undefined) words.push(operand);
      const token = this.#peek();
      if (token.type === 'space') continue;
      const [first, ...rest] = words;
      if (token.type === 'pipe') this.#take();
      else if (token.type !== 'close' && token.type !== 'right paren')
        throw this.#unexpected(token, words.length > 0 ? 'operand' : context);
      if (first === undefined) throw this.#wrong(token.type === 'pipe' ? 'missing value for command' : 'empty command', token);
      if (token.type === 'pipe' && this.#endsHere()) throw this.#wrong('missing value for command', token);
      return { words: [first, ...rest], at, end: words.at(-1)!.end };
    }
  }

  #endsHere(): boolean {
    this.#space();
    return ['close', 'right paren'].includes(this.#peek().type);
  }

  #operand(): Operand | undefined {
    const of = this.#term();
    if (of === undefined || this.#peek().type !== 'field') return of;
    const names = this.#fields();
    const place = { at: of.at, end: this.#end() };
    switch (of.type) {
      case 'field':
        return { ...of, ...place, names: [...of.names, ...names] };
      case 'variable':
        return { ...of, ...place, names };
      case 'constant':
      case 'nil':
      case 'dot':
        throw this.#wrong(`unexpected . after term ${JSON.stringify(this.#text.slice(of.at, of.end))}`);
      default:
        return { type: 'chain', of, names, ...place };
    }
  }

  #fields(): string[] {
    const names: string[] = [];
    while (this.#peek().type === 'field') names.push(this.#take().text.slice(1));
    return names;
  }

  #term(): Operand | undefined {
    const token = this.#peek();
    const place = { at: token.at, end: token.at + token.text.length };
    switch (token.type) {
      case 'dot':
      case 'nil':
        this.#take();
        return { type: token.type, ...place };
      case 'bool':
        this.#take();
        return { type: 'constant', value: token.text === 'true', ...place };
      case 'number':
        this.#take();
        return { type: 'constant', value: this.#number(token), ...place };
      case 'string':
        this.#take();
        return { type: 'constant', value: this.#unquoted(token), ...place };
      case 'field':
        this.#take();
        return { type: 'field', names: [token.text.slice(1)], ...place };
      case 'variable':
        this.#take();
        this.#checkVariable(token.text, token);
        return { type: 'variable', name: token.text, names: [], ...place };
      case 'identifier':
        this.#take();
        if (!isFunction(token.text)) throw this.#wrong(`function ${JSON.stringify(token.text)} not defined`, token);
        return { type: 'function', name: token.text, ...place };
      case 'left paren': {
        this.#take();
        const pipeline = this.#deeper(token, () => this.#pipeline('parenthesized pipeline', 'right paren'));
        return { type: 'pipeline', pipeline, at: token.at, end: this.#end() };
      }
      default:
        return undefined;
    }
  }

  #number(token: Token): number {
    if (token.text.startsWith("'")) return this.#unquoted(token).codePointAt(0) ?? 0;
    const text = token.text.replaceAll('_', '');
    const value = /^[+-]?0[xob]/i.test(text) ? Number(text.replace(/^[+-]/, '')) * (text.startsWith('-') ? -1 : 1) : Number(text);
    if (Number.isNaN(value)) throw this.#wrong(`bad number syntax: ${JSON.stringify(token.text)}`, token);
    return value;
  }

  #unquoted(token: Token): string {
    const text = unquote(token.text);
    if (text === undefined) throw this.#wrong('invalid syntax', token);
    return text;
  }

  #checkVariable(name: string, token: Token): void {
    if (!this.#variables.includes(name)) throw this.#wrong(`undefined variable ${JSON.stringify(name)}`, token);
  }

  #deeper<T>(token: Token, read: () => T): T {
    if (++this.#depth > maxDepth) throw this.#wrong(`actions stand in each other more than ${maxDepth} levels deep`, token);
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  #close(context: string): void {
    this.#space();
    const token = this.#take();
    if (token.type !== 'close') throw this.#unexpected(token, context);
  }

  #space(): void {
    while (this.#peek().type === 'space') this.#next++;
  }

  #peek(): Token {
    return this.#tokens[Math.min(this.#next, this.#tokens.length - 1)]!;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  /** Where the last token that was taken ends. */
  #end(): number {
    const { at, text } = this.#tokens[this.#next - 1]!;
    return at + text.length;
  }

  #unexpected(token: Token, context: string): TemplateError {
    const { type, text } = token;
    const quoted = text.length > 10 ? `${JSON.stringify(text.slice(0, 10))}...` : JSON.stringify(text);
    const what = type === 'keyword' ? `<${text}>` : type === 'EOF' ? 'EOF' : quoted;
    return this.#wrong(`unexpected ${what} in ${context}`, token);
  }

  #wrong(why: string, token: Token = this.#tokens[Math.max(0, this.#next - 1)]!): TemplateError {
    return new TemplateError(this.#text, token.at, why);
  }
}
