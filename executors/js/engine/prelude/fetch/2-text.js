// TextEncoder and TextDecoder, for UTF-8.

const { makeError } = hands;
const { lower, utf8, textOfBytes, withoutMark, viewed, typeError, give, tagged, textOf } = kit;

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return utf8(textOf(text)); }
}
class TextDecoder {
  #fatal = false; #keep = false;
  constructor(label = 'utf-8', options = undefined) {
    const name = lower(textOf(label));
    if (name !== 'utf-8' && name !== 'utf8') throw makeError('RangeError', 'TextDecoder: only utf-8 is there');
    if (typeof options === 'object' && options !== null) {
      this.#fatal = !!options.fatal;
      this.#keep = !!options.ignoreBOM;
    }
  }
  get encoding() { return 'utf-8'; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keep; }
  decode(bytes = undefined, options = undefined) {
    if (typeof options === 'object' && options !== null && options.stream) throw typeError('TextDecoder: a stream is not supported');
    if (bytes === undefined) return '';
    const b = viewed(bytes);
    if (b === null) throw typeError('TextDecoder: not an ArrayBuffer or a view of one');
    const text = textOfBytes(b, this.#fatal);
    if (text === null) throw typeError('TextDecoder: not UTF-8');
    return this.#keep ? text : withoutMark(text);
  }
}
tagged(TextEncoder, 'TextEncoder');
tagged(TextDecoder, 'TextDecoder');
give('TextEncoder', TextEncoder);
give('TextDecoder', TextDecoder);
