/**
 * A place in an object, as a chain from the inside out: the text is made only where a violation is reported. The
 * outermost link has no parent.
 */
export interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
  /** How the step is written: ".name", or "[name]" for the keys of maps. */
  readonly isKey: boolean;
}

export function member(parent: Place | undefined, step: string): Place {
  return { parent, step, isKey: false };
}

export function entry(parent: Place | undefined, step: string | number): Place {
  return { parent, step, isKey: typeof step === 'string' };
}

/** "spec.containers[0].env[NAME]"; the object itself is the empty text. */
export function placeText(place: Place | undefined): string {
  let text = '';
  for (let link = place; link !== undefined; link = link.parent) {
    if (typeof link.step === 'number' || link.isKey) text = `[${link.step}]${text}`;
    else text = link.parent === undefined ? `${link.step}${text}` : `.${link.step}${text}`;
  }
  return text;
}
