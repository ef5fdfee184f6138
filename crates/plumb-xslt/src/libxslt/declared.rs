//! Functions and types of libxml2, libxslt and the C library, as their headers declare them.
//!
//! # Source
//! `libxml/parser.h`, `libxml/xmlerror.h`, `libxslt/xsltInternals.h`, `libxslt/security.h`,
//! `libxslt/xsltutils.h` and `libexslt/exslt.h` of libxml2 2.9 and libxslt 1.1.35; `stdio.h` and
//! `time.h` of glibc.
#![expect(unsafe_code, reason = "functions of a library in C")]

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// Only libxml2 and libxslt know what is in these.
macro_rules! opaque {
    ($($name:ident),*) => { $(
        #[repr(C)]
        pub(super) struct $name { _private: [u8; 0] }
    )* };
}

opaque!(Document, Style, SecurityPrefs, ParserContext, ParserInput);

pub(super) const PARSE_NOERROR: c_int = 1 << 5;
pub(super) const PARSE_NOWARNING: c_int = 1 << 6;
pub(super) const PARSE_NONET: c_int = 1 << 11;
pub(super) const PARSE_NOCDATA: c_int = 1 << 14;
/// `XML_ERR_ERROR`; below it are warnings.
pub(super) const LEVEL_ERROR: c_int = 2;
/// Read a file, write one, make a folder, read from and write to the network.
pub(super) const SECURITY_OPTIONS: [c_int; 5] = [1, 2, 3, 4, 5];
/// `XSLT_STATE_OK`; the others are an error and a message that ends the transformation.
pub(super) const STATE_OK: c_int = 0;

/// `xmlError`.
#[repr(C)]
pub(super) struct ParseError {
    domain: c_int,
    code: c_int,
    pub(super) message: *const c_char,
    pub(super) level: c_int,
    file: *const c_char,
    pub(super) line: c_int,
    strings: [*const c_char; 3],
    int1: c_int,
    pub(super) column: c_int,
}

/// The beginning of `xsltTransformContext`, up to its state.
#[repr(C)]
pub(super) struct TransformContext {
    style: *mut c_void,
    output_type: c_int,
    template: *mut c_void,
    templates: c_int,
    templates_max: c_int,
    template_table: *mut c_void,
    variables: *mut c_void,
    variables_count: c_int,
    variables_max: c_int,
    variables_table: *mut c_void,
    variables_base: c_int,
    /// Functions, elements and data of extensions; mode and its namespace; documents; the document,
    /// node and list of nodes; the output and where it goes on; XPath.
    pointers: [*mut c_void; 12],
    pub(super) state: c_int,
}

pub(super) type SecurityCheck =
    unsafe extern "C" fn(*mut SecurityPrefs, *mut c_void, *const c_char) -> c_int;
pub(super) type ErrorHandler = extern "C" fn(*mut c_void, *const ParseError);
pub(super) type EntityLoader =
    extern "C" fn(*const c_char, *const c_char, *mut ParserContext) -> *mut ParserInput;

/// `cookie_write_function_t`.
pub(super) type StreamWrite = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize;

/// `cookie_io_functions_t`; what is null is not done.
#[repr(C)]
pub(super) struct StreamFunctions {
    pub(super) read: *const c_void,
    pub(super) write: Option<StreamWrite>,
    pub(super) seek: *const c_void,
    pub(super) close: *const c_void,
}

unsafe extern "C" {
    // the C library
    pub(super) fn tzset();
    pub(super) fn fopencookie(
        cookie: *mut c_void,
        mode: *const c_char,
        functions: StreamFunctions,
    ) -> *mut libc::FILE;

    // libxml2
    pub(super) fn xmlReadMemory(
        text: *const c_char,
        length: c_int,
        name: *const c_char,
        encoding: *const c_char,
        options: c_int,
    ) -> *mut Document;
    pub(super) fn xmlFreeDoc(document: *mut Document);
    pub(super) fn xmlGetIntSubset(document: *const Document) -> *mut c_void;
    pub(super) fn xmlSetStructuredErrorFunc(data: *mut c_void, handler: Option<ErrorHandler>);
    pub(super) fn xmlSetExternalEntityLoader(loader: Option<EntityLoader>);
    pub(super) fn xmlSetGenericErrorFunc(stream: *mut c_void, handler: *mut c_void);

    // libxslt
    pub(super) fn xsltParseStylesheetDoc(document: *mut Document) -> *mut Style;
    pub(super) fn xsltFreeStylesheet(style: *mut Style);
    pub(super) fn xsltNewTransformContext(
        style: *mut Style,
        document: *mut Document,
    ) -> *mut TransformContext;
    pub(super) fn xsltFreeTransformContext(context: *mut TransformContext);
    pub(super) fn xsltApplyStylesheetUser(
        style: *mut Style,
        document: *mut Document,
        parameters: *mut *const c_char,
        output: *const c_char,
        profile: *mut c_void,
        context: *mut TransformContext,
    ) -> *mut Document;
    pub(super) fn xsltSaveResultToString(
        text: *mut *mut c_uchar,
        length: *mut c_int,
        result: *mut Document,
        style: *mut Style,
    ) -> c_int;
    pub(super) fn xsltSetGenericErrorFunc(stream: *mut c_void, handler: *mut c_void);
    pub(super) fn xsltNewSecurityPrefs() -> *mut SecurityPrefs;
    pub(super) fn xsltSetSecurityPrefs(
        preferences: *mut SecurityPrefs,
        option: c_int,
        check: Option<SecurityCheck>,
    ) -> c_int;
    pub(super) fn xsltSecurityForbid(
        preferences: *mut SecurityPrefs,
        context: *mut c_void,
        value: *const c_char,
    ) -> c_int;
    pub(super) fn xsltSetDefaultSecurityPrefs(preferences: *mut SecurityPrefs);

    // libexslt
    pub(super) fn exsltCommonRegister();
    pub(super) fn exsltMathRegister();
    pub(super) fn exsltSetsRegister();
    pub(super) fn exsltFuncRegister();
    pub(super) fn exsltStrRegister();
    pub(super) fn exsltDateRegister();
}
