import { badRequest } from '../../api/errors/index.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import { ExecutionError, fillGoTemplate } from './evaluate.ts';
import type { Template } from './nodes.ts';
import { parseGoTemplate } from './parse.ts';
import { shortened, TemplateError } from './template-error.ts';

/**
 * Reads a template of Go's text/template, with kubectl's functions, and gives what fills it in. Both throw
 * INVALID_ARGUMENT, in kubectl's words. `strict`: also for keys that are not there.
 */
export function readGoTemplate(text: string, { strict = false }: { readonly strict?: boolean } = {}): (data: Json) => string {
  const template = parsed(text);
  return (data) => {
    try {
      return fillGoTemplate(template, data, { strict });
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error;
      throw badRequest(`error executing template ${JSON.stringify(shortened(text))}: ${error.message}`);
    }
  };
}

function parsed(text: string): Template {
  try {
    return parseGoTemplate(text);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw badRequest(`error parsing template ${shortened(text)}, ${error.message}`);
  }
}
